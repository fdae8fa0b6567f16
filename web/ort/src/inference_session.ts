/** The class of sessions, which is there before the first one; session.ts is fetched for that. */
export class InferenceSession {}
