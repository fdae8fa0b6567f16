/** Numbers as C's printf writes them, which the native command uses. */

/** "%.6g" */
export function short(value: number, digits = 6): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const [mantissa = '', exponent = '0'] = value.toExponential(digits - 1).split('e');
  const power = Number(exponent);
  const trimmed = (text: string): string => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);
  if (power >= -4 && power < digits) return trimmed(value.toFixed(digits - 1 - power));
  return `${trimmed(mantissa)}e${power < 0 ? '-' : '+'}${Math.abs(power).toString().padStart(2, '0')}`;
}

/** "%.0f" for integers and booleans, "%.6g" for others. */
export const numberText = (value: number | bigint, isWhole: boolean): string =>
  typeof value === 'bigint' ? value.toString() : isWhole ? value.toFixed(0) : short(value);
