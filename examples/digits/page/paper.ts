import {type Point, SIZE, type Stroke} from './picture.ts';

const PEN_SHARE = 1 / 13; // of the paper's side

/** A canvas to draw on with mouse, pen or finger. */
export class Paper {
  readonly #canvas: HTMLCanvasElement;
  readonly #context: CanvasRenderingContext2D;
  readonly #changed: () => void;
  #strokes: Point[][] = [];
  #picture: ImageBitmap | undefined;
  #pointer: number | undefined;

  constructor(canvas: HTMLCanvasElement, changed: () => void) {
    const context = canvas.getContext('2d');
    if (context === null) throw new Error('This browser has no 2D canvas.');
    this.#canvas = canvas;
    this.#context = context;
    this.#changed = changed;
    canvas.addEventListener('pointerdown', (event) => this.#down(event));
    canvas.addEventListener('pointermove', (event) => this.#move(event));
    for (const end of ['pointerup', 'pointercancel'] as const) {
      canvas.addEventListener(end, (event) => {
        if (event.pointerId === this.#pointer) this.#pointer = undefined;
      });
    }
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#redraw());
  }

  /** In the canvas's own pixels. */
  get strokes(): readonly Stroke[] {
    return this.#strokes;
  }

  get side(): number {
    return this.#canvas.width;
  }

  clear(): void {
    this.#strokes = [];
    this.#picture = undefined;
    this.#pointer = undefined;
    this.#redraw();
  }

  /** Shows a picture of 28 x 28 values, 0 to 1, until something is drawn. */
  async show(picture: Float32Array): Promise<void> {
    this.clear();
    const pixels = new ImageData(SIZE, SIZE);
    picture.forEach((ink, at) => {
      pixels.data[4 * at + 3] = Math.round(255 * ink);
    });
    this.#picture = await createImageBitmap(pixels);
    this.#redraw();
  }

  #down(event: PointerEvent): void {
    if (this.#pointer !== undefined || event.button !== 0) return;
    event.preventDefault();
    this.#pointer = event.pointerId;
    this.#canvas.setPointerCapture(event.pointerId);
    this.#picture = undefined;
    this.#strokes.push([this.#place(event)]);
    this.#redraw();
    this.#changed();
  }

  #move(event: PointerEvent): void {
    if (event.pointerId !== this.#pointer) return;
    const stroke = this.#strokes.at(-1);
    if (stroke === undefined) return;
    const passed = event.getCoalescedEvents();
    for (const step of passed.length > 0 ? passed : [event]) stroke.push(this.#place(step));
    this.#redraw();
    this.#changed();
  }

  #place(event: PointerEvent): Point {
    const box = this.#canvas.getBoundingClientRect();
    return {
      x: ((event.clientX - box.left) * this.#canvas.width) / box.width,
      y: ((event.clientY - box.top) * this.#canvas.height) / box.height,
    };
  }

  #redraw(): void {
    const context = this.#context;
    const ink = getComputedStyle(this.#canvas).getPropertyValue('--ink');
    context.clearRect(0, 0, this.side, this.side);
    if (this.#picture !== undefined) {
      context.drawImage(this.#picture, 0, 0, this.side, this.side);
      context.globalCompositeOperation = 'source-in'; // the picture's coverage in today's ink
      context.fillStyle = ink;
      context.fillRect(0, 0, this.side, this.side);
      context.globalCompositeOperation = 'source-over';
    }
    context.strokeStyle = ink;
    context.lineWidth = this.side * PEN_SHARE;
    context.lineCap = 'round';
    context.lineJoin = 'round';
    for (const stroke of this.#strokes) {
      context.beginPath();
      for (const {x, y} of stroke) context.lineTo(x, y);
      const first = stroke[0];
      if (stroke.length === 1 && first !== undefined) context.lineTo(first.x, first.y);
      context.stroke();
    }
  }
}
