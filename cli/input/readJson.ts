import { usage } from '../failures/failure.ts'
import { readText } from './prompt.ts'

/**
 * Parses the JSON of a file, or of stdin for `-`.
 * @param flag the option with the file name, as errors name it
 */
export async function readJson(path: string, flag: string): Promise<unknown> {
  const text = await readText(path, flag)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw usage(`${flag} ${path} is not JSON: ${(error as Error).message}`)
  }
}
