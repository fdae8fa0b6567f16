/** A script bundled to one text by the build. */
declare module 'worker:*' {
  const text: string;
  export default text;
}
