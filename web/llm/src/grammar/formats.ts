/** Formats of strings in JSON Schema, as patterns of whole texts. */

const DAYS_28 = String.raw`[1-9]\d{3}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])`;
const OTHER_DAYS = String.raw`[1-9]\d{3}-((0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)`;
const LEAP_DAYS = String.raw`([1-9]\d(0[48]|[2468][048]|[13579][26])|(1[26]|[2468][048]|[3579][26])00)-02-29`;
const DATE = `(${DAYS_28}|${OTHER_DAYS}|${LEAP_DAYS})`;
const TIME = String.raw`([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)`;
const BYTE = String.raw`(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`;
const LABEL = '[A-Za-z0-9]([A-Za-z0-9-]{0,30}[A-Za-z0-9])?';

/** Times have an offset (RFC 3339); years are 1000 to 9999; addresses and host names are ASCII. */
export const FORMATS: Readonly<Record<string, string>> = {
  date: DATE,
  time: TIME,
  'date-time': `${DATE}T${TIME}`,
  duration: String.raw`P(\d{1,4}W|\d{1,4}Y(\d{1,2}M(\d{1,2}D)?)?|\d{1,2}M(\d{1,2}D)?|\d{1,3}D)`,
  uuid: '[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}',
  email: String.raw`[A-Za-z0-9_+-]{1,30}(\.[A-Za-z0-9_+-]{1,30}){0,2}@(${LABEL}\.){1,3}[A-Za-z]{2,10}`,
  hostname: String.raw`(${LABEL}\.){0,3}${LABEL}`,
  ipv4: String.raw`(${BYTE}\.){3}${BYTE}`,
  ipv6: '([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}',
};
