// The Markdown table of a result (results/latest.json).
const ms = (value) => (value === undefined ? '' : value >= 100 ? value.toFixed(0) : value.toFixed(2));
const kb = (bytes) => `${(bytes / 1024).toFixed(1)} KB`;
const verdict = (good) => (good ? 'met' : '**missed**');

function comparison({section, model, floor, parties, error}) {
  const [ours, ...peers] = parties;
  return peers.map((peer) => {
    const ratio = peer.cpuRatio ?? peer.ratio;
    const met = floor?.peer === peer.name ? verdict(ratio <= floor.ratio) : '';
    const cells = [section, model, peer.name, ms(ours.cpu), ms(peer.cpu), ms(ours.median), ms(peer.median)];
    const starts = ours.first === undefined ? '' : `${ms(ours.first)} / ${ms(peer.first)}`;
    const tail = [ratio.toFixed(2), peer.ratio.toFixed(2), floor?.peer === peer.name ? `≤ ${floor.ratio}` : '', met];
    return `| ${[...cells, starts, ...tail, (peer.error ?? error)?.toExponential(1) ?? ''].join(' | ')} |`;
  });
}

export function markdown(result) {
  const {machine, comparisons, matmul, sizes, compile, problems} = result;
  const lines = [
    '# Benchmark',
    '',
    `${result.date}, ${machine.cpu}, ${machine.cores} cores, Node ${machine.node}, ${machine.browser ?? 'no browser'}; load ${machine.loadBefore.map((load) => load.toFixed(1)).join(' ')} at the start, ${machine.loadAfter.map((load) => load.toFixed(1)).join(' ')} at the end.`,
    'One thread (software GPUs use what they like). Parties take turns, round by round; times are medians in ms with',
    'inputs written and outputs read. Ratios are medians over rounds of ours / peer, by CPU time and by wall time; below 1 we are',
    'faster. The floor is judged by CPU time, which other work on the machine does not lengthen as it does wall time.',
    'First: until the first result, loading and compiling shaders included. Error: largest difference from the peer / largest value.',
    '',
    '| where | model | peer | our CPU | peer CPU | our wall | peer wall | first, ours / peer | CPU ratio | wall ratio | floor | | error |',
    '|---|---|---|---|---|---|---|---|---|---|---|---|---|',
    ...comparisons.flatMap(comparison),
    '',
  ];
  for (const {where, rate, peak, share, bestRate, bestPeak} of matmul) {
    lines.push(
      `Matmul 512^3 on wasm in ${where}, one thread: ${rate.toFixed(1)} GFLOP/s in the kernel (best ${bestRate.toFixed(1)}); V8's SIMD peak in the`,
      `same rounds ${peak.toFixed(1)} (best ${bestPeak.toFixed(1)}; multiply and add in registers, none fused): ${(100 * share).toFixed(0)}%, floor 60%: ${verdict(share >= 0.6)}.`,
      '',
    );
  }
  if (sizes) {
    lines.push('| size after gzip | bytes | limit | |', '|---|---|---|---|');
    for (const {what, bytes, limit} of sizes) lines.push(`| ${what} | ${kb(bytes)} | ${kb(limit)} | ${verdict(bytes <= limit)} |`);
    lines.push('');
  }
  for (const {what, wall, cpu, limit} of compile ?? []) {
    lines.push(`Compiling ${what}: ${(cpu / 1e3).toFixed(2)} s CPU time, ${(wall / 1e3).toFixed(2)} s wall, limit ${limit / 1e3} s: ${verdict(cpu <= limit)}.`);
  }
  if (problems.length) lines.push('', 'Not measured:', '', ...problems.map((problem) => `- ${problem}`));
  return `${lines.join('\n')}\n`;
}
