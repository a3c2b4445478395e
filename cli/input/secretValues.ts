import { usage } from '../failures/failure.ts'
import { readText } from './prompt.ts'

/**
 * The value of a variable of this command's environment, which is one way for secrets to come in.
 * @throws Failure (usage) for what is no name, and where it is not set
 */
export function environmentValue(name: string, flag: string): string {
  // What is no name may hold a secret, which is not repeated.
  if (!/^[A-Za-z_]\w*$/.test(name))
    throw usage(`${flag} wants the name of a variable`, { hint: 'its value is the one that it has in the environment' })
  const value = process.env[name]
  if (value === undefined) throw usage(`${flag} takes ${name} from the environment, and it is not set there`)
  return value
}

/**
 * Variables from a file, or from stdin for `-`: NAME=VALUE lines, values as they stand; empty lines and those after # are left out.
 * @throws Failure (usage) that says which line is none, and nothing of what it holds
 */
export async function readVariables(path: string, flag: string): Promise<Record<string, string>> {
  const lines = (await readText(path, flag)).split('\n').map(line => line.replace(/\r$/, ''))
  return Object.fromEntries(
    lines.flatMap((line, at): [string, string][] => {
      if (line.trim() === '' || line.startsWith('#')) return []
      const [, name, value] = /^([^=\s]+)=(.*)$/.exec(line) ?? []
      if (name === undefined || value === undefined)
        throw usage(`${flag}: line ${at + 1} is not NAME=VALUE`, { hint: 'one variable a line' })
      return [[name, value]]
    }),
  )
}
