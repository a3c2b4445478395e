/** An object in a message of an agent. Its fields are not validated. */
export type Json = Readonly<Record<string, unknown>>

/** A value of an agent's message as an object. Empty if the value is not an object. */
export const asObject = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {})
