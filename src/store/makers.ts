/** The account or API key whose rights something has that goes on by itself; null for what is nobody's. */
export interface Maker {
  makerUserId: number | null
  makerKeyId: number | null
}
