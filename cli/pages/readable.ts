import { exitOf } from '../failures/failure.ts'

/**
 * What a page shows besides, or undefined where the token may not read it. An API key may read cards and nothing else.
 * @throws whatever else went wrong
 */
export async function readable<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    if (exitOf(error) === 'denied') return undefined
    throw error
  }
}
