import type { App } from '../../../src/app.ts'
import type { Transaction } from '../../../src/store/engine/database.ts'
import type { Call } from '../../http/handlers.ts'

/** Runs a write that can start an agent, after a refresh of the catalogue. */
export async function startingWrite<T, O = undefined>(
  { supervisor }: Pick<App, 'supervisor'>,
  call: Call,
  work: (tx: Transaction) => Promise<T>,
  present?: (result: T) => O,
): Promise<O> {
  await supervisor.refresh()
  return call.write(work, present)
}
