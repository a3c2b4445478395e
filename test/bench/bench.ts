/** The paths of the bundled parts, and the arguments of the run. */
export interface Bench {
  folder: string
  /** Bundles another commit's server and what seeds its board. @returns their folder */
  buildCommit(commit: string): Promise<string>
  board: string
  web: string
  meter: string
  flood: string
  /** The agent that says one word, and what notes the processes that a server starts. */
  firstWord: string
  trace: string
  argv: readonly string[]
}
export type Tell = (text: string) => void
