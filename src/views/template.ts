/**
 * An object with these properties, all null, to be copied with a spread: the copies share its hidden class, which an object of
 * more than a dozen properties loses that grows name by name. Only the parser of JSON makes such an object in one go.
 */
export const templateOf = (names: readonly string[]): object =>
  JSON.parse(`{${names.map(name => `${JSON.stringify(name)}:null`).join()}}`) as object
