/** A chart in the page's own colours. */
import Plot from 'uplot';

export interface Series {
  readonly label: string;
  /** One of the page's colours (style.css), or any other. */
  readonly color: string;
  readonly width?: number;
  /** Points instead of a line. */
  readonly points?: boolean;
}

export interface PlotOptions {
  /** The horizontal axis. */
  readonly x: string;
  readonly y: string;
  readonly series: readonly Series[];
  /** The vertical axis is logarithmic. */
  readonly logarithmic?: boolean;
  readonly height?: number;
  /** What the axes show at least; else what there is. */
  readonly range?: {readonly x: [number, number]; readonly y: [number, number]};
}

const colour = (name: string): string =>
  name.startsWith('--') ? getComputedStyle(document.documentElement).getPropertyValue(name).trim() : name;

/** Of a logarithmic axis only powers of ten are named. */
const power = (value: number): string => (Math.log10(value) % 1 === 0 ? String(value) : '');

/** An empty chart in the place of what was there. */
export function plot(place: HTMLElement, {x, y, series, logarithmic = false, height = 280, range}: PlotOptions): Plot {
  place.replaceChildren();
  const axis = (label: string): Plot.Axis => ({
    label,
    stroke: colour('--quiet'),
    grid: {stroke: colour('--edge'), width: 1},
    ticks: {stroke: colour('--edge'), width: 1},
    labelSize: 20,
  });
  const scale = (extent: [number, number] | undefined): Plot.Scale => (extent ? {range: extent} : {});
  return new Plot(
    {
      width: place.clientWidth || 640,
      height,
      scales: {x: {time: false, ...scale(range?.x)}, y: {...(logarithmic ? {distr: 3} : {}), ...scale(range?.y)}},
      axes: [axis(x), {...axis(y), ...(logarithmic ? {values: (_, splits) => splits.map(power), size: 60} : {})}],
      cursor: {drag: {x: false, y: false}},
      legend: {live: false, markers: {fill: (_, at) => colour(series[at - 1]?.color ?? '')}},
      series: [
        {label: x},
        ...series.map(({label, color, width = 2, points = false}): Plot.Series => ({
          label,
          stroke: colour(color),
          width: points ? 0 : width,
          spanGaps: !points,
          points: points ? {show: true, size: 5, fill: colour(color), width: 0} : {show: false},
        })),
      ],
    },
    [[], ...series.map(() => [])],
    place,
  );
}
