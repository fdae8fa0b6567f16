// Memory of small objects, of which a compilation makes and drops millions: a list of free ones for
// each size, which wasi-libc's malloc is several times slower than. Lists are filled from pages of
// one size each, so that an address tells its size. An instance has one thread.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

constexpr size_t grain = 16, largest = 512, page_bits = 16, page = size_t{1} << page_bits;

struct Free {
  Free* next;
};
std::array<Free*, largest / grain + 1> lists;
// Of each page of the memory its objects' size in grains; 0: not ours.
std::array<uint8_t, (uint64_t{1} << 32) / page> sizes;

void fill(size_t grains) {
  auto* begin = static_cast<std::byte*>(std::aligned_alloc(page, page));
  if (!begin) std::abort();
  sizes[reinterpret_cast<uintptr_t>(begin) >> page_bits] = static_cast<uint8_t>(grains);
  const size_t size = grains * grain;
  for (size_t at = page / size; at-- > 0;) {
    auto* one = reinterpret_cast<Free*>(begin + at * size);
    one->next = lists[grains];
    lists[grains] = one;
  }
}

void* take(size_t bytes) {
  if (bytes > largest) {
    void* memory = std::malloc(bytes);
    if (!memory) std::abort();
    return memory;
  }
  const size_t grains = bytes == 0 ? 1 : (bytes + grain - 1) / grain;
  if (!lists[grains]) fill(grains);
  Free* one = lists[grains];
  lists[grains] = one->next;
  return one;
}

void give(void* memory) {
  if (!memory) return;
  const size_t grains = sizes[reinterpret_cast<uintptr_t>(memory) >> page_bits];
  if (grains == 0) {
    std::free(memory);
    return;
  }
  auto* one = static_cast<Free*>(memory);
  one->next = lists[grains];
  lists[grains] = one;
}

}  // namespace

void* operator new(size_t bytes) { return take(bytes); }
void* operator new[](size_t bytes) { return take(bytes); }
void operator delete(void* memory) noexcept { give(memory); }
void operator delete[](void* memory) noexcept { give(memory); }
void operator delete(void* memory, size_t) noexcept { give(memory); }
void operator delete[](void* memory, size_t) noexcept { give(memory); }
