/** A camera's picture in a <video> of the page. */

const REASONS: Readonly<Record<string, string>> = {
  NotAllowedError: 'The camera may not be used: allow it for this page and try again.',
  NotFoundError: 'There is no camera here.',
  NotReadableError: 'The camera is taken by another program.',
};

/** Shows the camera's picture; resolves when there is one. Throws in words where none can be had. */
export async function openCamera(video: HTMLVideoElement): Promise<void> {
  if (!('mediaDevices' in navigator)) throw new Error('Cameras are for pages of https or localhost alone.');
  try {
    video.srcObject = await navigator.mediaDevices.getUserMedia({video: {facingMode: 'environment'}});
  } catch (problem) {
    const {name, message} = problem as DOMException;
    throw new Error(REASONS[name] ?? `The camera cannot be had: ${message}`, {cause: problem});
  }
  await video.play();
}

export function closeCamera(video: HTMLVideoElement): void {
  if (video.srcObject instanceof MediaStream) video.srcObject.getTracks().forEach((track) => track.stop());
  video.srcObject = null;
}

/** Resolves when the video has a picture that was not seen yet; false: it stopped. */
function nextFrame(video: HTMLVideoElement): Promise<boolean> {
  if (!video.srcObject) return Promise.resolve(false);
  return new Promise((resolve) => {
    const over = (): void => resolve(false);
    video.addEventListener('emptied', over, {once: true});
    video.requestVideoFrameCallback(() => {
      video.removeEventListener('emptied', over);
      resolve(true);
    });
  });
}

/** Looks at one frame after the other until the camera is closed. Whoever closes it may do so while one is looked at: that is no error. */
export async function eachFrame(video: HTMLVideoElement, look: () => Promise<void>): Promise<void> {
  while (await nextFrame(video)) {
    await look().catch((problem: unknown) => {
      if (video.srcObject) throw problem;
    });
  }
}

/** How often a second tick() is called, over the latest twenty, in words. */
export class Rate {
  #times: number[] = [];
  tick(): string {
    this.#times = [...this.#times.slice(-20), performance.now()];
    const [first = 0] = this.#times;
    const rate = ((this.#times.length - 1) * 1000) / Math.max(1, (this.#times.at(-1) ?? 0) - first);
    return rate > 0 ? `${rate.toFixed(1)} frames a second` : '';
  }
}
