/** A word as a person would type it in a shell: in quotes if the shell would read it as more than one word. */
export const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
