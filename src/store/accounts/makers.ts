/** The account or API key whose permissions apply to automatic work. Null if there is no owner. */
export interface Maker {
  makerUserId: number | null
  makerKeyId: number | null
}
