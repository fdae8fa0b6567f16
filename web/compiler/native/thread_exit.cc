// wasi-libc without threads lacks this. The page's one thread never ends while the instance lives,
// so destructors of thread-local objects are never due.
extern "C" int __cxa_thread_atexit(void (*)(void*), void*, void*) { return 0; }
