// What the page can tell about where it runs.
export async function describePage() {
  const adapter = await navigator.gpu?.requestAdapter({powerPreference: 'high-performance'});
  const {vendor = '', architecture = '', description = ''} = adapter?.info ?? {};
  const webgpu = [description, vendor, architecture].filter(Boolean).join(', ');
  const gl = document.createElement('canvas').getContext('webgl2');
  const named = gl?.getExtension('WEBGL_debug_renderer_info');
  const webgl = gl ? String(gl.getParameter(named ? named.UNMASKED_RENDERER_WEBGL : gl.RENDERER)) : '';
  gl?.getExtension('WEBGL_lose_context')?.loseContext();
  const browser = navigator.userAgentData?.brands.find(({brand}) => /Chrom/.test(brand));
  const name = browser ? `${browser.brand} ${browser.version}` : navigator.userAgent;
  const parts = [name, `${navigator.hardwareConcurrency} threads`, webgpu && `WebGPU: ${webgpu}`, webgl && `WebGL: ${webgl}`];
  const date = new Date().toISOString().slice(0, 16).replace('T', ' ');
  const software = /swiftshader|llvmpipe|lavapipe/i.test(webgpu || webgl);
  return {date, browser: name, webgpu, webgl, software, text: [date, ...parts.filter(Boolean)].join('; ')};
}
