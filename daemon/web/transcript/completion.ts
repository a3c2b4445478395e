import { client } from '../app/session.ts'

/** A suggestion for the typed text. */
export interface Suggestion {
  value: string
  /** The text in the list. */
  shown?: string
  about: string
}
/** The typed text that can be completed: `/word` at the start of the text, or `@part` anywhere. */
export interface Typed {
  kind: 'command' | 'file'
  from: number
  word: string
}

export type Suggest = (typed: Typed, agent?: string | null) => Promise<Suggestion[]>

const maxSuggestions = 8

/** Returns the completable text at the caret. */
export function typedAt(text: string, caret: number): Typed | undefined {
  const before = text.slice(0, caret)
  const command = /^\/(\S*)$/.exec(before)
  if (command) return { kind: 'command', from: 0, word: command[1]! }
  const file = /(?:^|\s)@(\S*)$/.exec(before)
  return file ? { kind: 'file', from: caret - file[1]!.length - 1, word: file[1]! } : undefined
}

/** Reads both lists of a project on first use. */
export function createSuggestions(projectId: string): Suggest {
  let commands: ReturnType<typeof client.agents.slashCommands> | undefined
  let files: Promise<string[]> | undefined
  return async ({ kind, word }, agent) => {
    if (kind === 'file') {
      files ??= client.projects.files({ projectId }).catch(() => [])
      return bestFiles(await files, word).map(path => ({ value: `@${path} `, about: '' }))
    }
    commands ??= client.agents.slashCommands({ projectId }).catch(() => [])
    return (await commands)
      .filter(({ agents }) => agents.length === 0 || !agent || agents.includes(agent))
      .filter(({ name }) => name.toLowerCase().includes(word.toLowerCase()))
      .slice(0, maxSuggestions)
      .map(({ name, description }) => ({ value: `/${name} `, about: description }))
  }
}

/** Files whose path contains the letters in order. Names that start with them, and short paths, come first. */
function bestFiles(paths: readonly string[], word: string): string[] {
  const wanted = word.toLowerCase()
  return paths
    .map(path => ({ path, score: scoreOf(path.toLowerCase(), wanted) }))
    .filter(({ score }) => score !== undefined)
    .sort((a, b) => a.score! - b.score! || a.path.length - b.path.length)
    .slice(0, maxSuggestions)
    .map(({ path }) => path)
}

function scoreOf(path: string, wanted: string): number | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1)
  if (name.startsWith(wanted)) return 0
  if (name.includes(wanted)) return 1
  if (path.includes(wanted)) return 2
  let at = 0
  for (const letter of path) if (letter === wanted[at]) at++
  return at === wanted.length ? 3 : undefined
}
