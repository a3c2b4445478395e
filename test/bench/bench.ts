/** The paths of the bundled parts, and the arguments of the run. */
export interface Bench {
  folder: string
  /** Bundles another commit's server and its seed program. @returns their folder */
  buildCommit(commit: string): Promise<string>
  board: string
  web: string
  meter: string
  flood: string
  /** The agent that sends one word, and the program that records the processes of a server. */
  firstWord: string
  trace: string
  argv: readonly string[]
}
export type Tell = (text: string) => void
