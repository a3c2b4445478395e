import { usage } from '../failures/failure.ts'
import { readText } from './prompt.ts'

/**
 * Returns the value of a variable from this command's environment.
 * @throws Failure (usage) if the name is invalid or the variable is not set
 */
export function environmentValue(name: string, flag: string): string {
  // An invalid name might be a secret, so the error does not repeat it.
  if (!/^[A-Za-z_]\w*$/.test(name))
    throw usage(`${flag} requires the name of a variable`, { hint: 'the value comes from the environment' })
  const value = process.env[name]
  if (value === undefined) throw usage(`${flag} reads ${name} from the environment, but the variable is not set`)
  return value
}

/**
 * Reads variables from a file, or from stdin for `-`: NAME=VALUE lines with verbatim values. Skips empty lines and lines that
 * start with #.
 * @throws Failure (usage) with the number of the invalid line, but not its contents
 */
export async function readVariables(path: string, flag: string): Promise<Record<string, string>> {
  const lines = (await readText(path, flag)).split('\n').map(line => line.replace(/\r$/, ''))
  return Object.fromEntries(
    lines.flatMap((line, at): [string, string][] => {
      if (line.trim() === '' || line.startsWith('#')) return []
      const [, name, value] = /^([^=\s]+)=(.*)$/.exec(line) ?? []
      if (name === undefined || value === undefined)
        throw usage(`${flag}: line ${at + 1} is not NAME=VALUE`, { hint: 'one variable per line' })
      return [[name, value]]
    }),
  )
}
