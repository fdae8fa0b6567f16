/** Makes this browser refuse what a smaller device could not do, so that packages are tested against it. */

interface Limits {
  readonly textureSize: number;
  readonly webgpu: Readonly<Record<string, number>>;
}

/** As target::apply_limits of the compiler has them. */
const LIMITS: Readonly<Record<string, Limits>> = {
  mobile: {
    textureSize: 4096,
    webgpu: {
      maxStorageBufferBindingSize: 128 << 20,
      maxStorageBuffersPerShaderStage: 8,
      maxComputeWorkgroupStorageSize: 16384,
      maxComputeInvocationsPerWorkgroup: 256,
      maxComputeWorkgroupSizeX: 256,
    },
  },
};

/** A device enforces the limits that it was asked for with: none but these are asked for. */
function keepWebgpu(limits: Limits['webgpu']): void {
  if (typeof GPUAdapter === 'undefined') return;
  const {prototype} = GPUAdapter;
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called with its own `this` below
  const original = prototype.requestDevice;
  prototype.requestDevice = function (this: GPUAdapter, descriptor = {}) {
    const requiredLimits: Record<string, number> = {};
    for (const [name, value] of Object.entries(descriptor.requiredLimits ?? {})) {
      requiredLimits[name] = Math.min(Number(value), limits[name] ?? Infinity);
    }
    return original.call(this, {...descriptor, requiredLimits});
  };
}

function keepWebgl(textureSize: number): void {
  const {prototype} = WebGL2RenderingContext;
  /* eslint-disable @typescript-eslint/unbound-method -- called with their own `this` below */
  const {getParameter, texStorage2D, texStorage3D, texImage2D, texImage3D} = prototype;
  /* eslint-enable @typescript-eslint/unbound-method */
  const check = (...extents: readonly unknown[]): void => {
    if (extents.some((extent) => Number(extent) > textureSize)) {
      throw new Error(`a texture of ${extents.join(' x ')} exceeds the limit of ${textureSize}`);
    }
  };
  prototype.getParameter = function (this: WebGL2RenderingContext, name: number): unknown {
    return name === this.MAX_TEXTURE_SIZE ? textureSize : getParameter.call(this, name);
  };
  prototype.texStorage2D = function (this: WebGL2RenderingContext, ...given) {
    check(given[3], given[4]);
    texStorage2D.apply(this, given);
  };
  prototype.texStorage3D = function (this: WebGL2RenderingContext, ...given) {
    check(given[3], given[4]);
    texStorage3D.apply(this, given);
  };
  prototype.texImage2D = function (this: WebGL2RenderingContext, ...given: unknown[]) {
    if (given.length > 6) check(given[3], given[4]);
    (texImage2D as (...all: unknown[]) => void).apply(this, given);
  };
  prototype.texImage3D = function (this: WebGL2RenderingContext, ...given: unknown[]) {
    check(given[3], given[4]);
    (texImage3D as (...all: unknown[]) => void).apply(this, given);
  };
}

export function keepLimits(name: string | null): void {
  if (name === null) return;
  const limits = LIMITS[name];
  if (!limits) throw new Error(`there are no limits "${name}"`);
  keepWebgpu(limits.webgpu);
  keepWebgl(limits.textureSize);
}
