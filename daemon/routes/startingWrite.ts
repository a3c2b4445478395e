import type { App } from '../../src/app.ts'
import type { Transaction } from '../../src/store/database.ts'
import type { Call } from '../http/handlers.ts'

/** A write that may start an agent, for which the catalogue is refreshed first. */
export async function startingWrite<T, O = undefined>(
  { supervisor }: Pick<App, 'supervisor'>,
  call: Call,
  work: (tx: Transaction) => Promise<T>,
  present?: (result: T) => O,
): Promise<O> {
  await supervisor.refresh()
  return call.write(work, present)
}
