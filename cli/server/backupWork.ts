import { createClient, type Client } from '../../src/client/index.ts'
import type { Backup } from '../../src/contract/server/backups.ts'
import type { Context } from '../context/context.ts'
import { Failure, usage } from '../failures/failure.ts'
import type { Column } from '../output/output.ts'

export const columns: Column<Backup>[] = [
  { name: 'filename', style: 'id', value: backup => backup.filename },
  { name: 'createdAt', header: 'MADE', style: 'time', value: backup => backup.createdAt },
  { name: 'size', align: 'right', value: backup => backup.size },
  { name: 'origin', header: 'FOR', value: backup => backup.origin },
  { name: 'verified', value: backup => backup.verified },
  { name: 'withKey', header: 'KEY', value: backup => backup.withKey },
  { name: 'version', style: 'dim', value: backup => backup.version },
]

/** Creates a client without a timeout, for long operations. */
export const clientWithoutTimeout = ({ connection }: Context): Client => createClient({ ...connection, timeoutMs: 0 })

/** Shows the elapsed seconds of an operation. */
export async function withElapsedSeconds<T>({ out }: Context, label: string, work: Promise<T>): Promise<T> {
  const progress = out.progress(`${label}, seconds`)
  const startedAt = performance.now()
  const timer = setInterval(() => progress.to(Math.round((performance.now() - startedAt) / 1000)), 200)
  return work.finally(() => {
    clearInterval(timer)
    progress.done()
  })
}

/** The name of a backup: the specified one, or the newest verified one. @throws Failure if neither or both are requested */
export async function chooseBackup(
  { client }: Context,
  wanted: string | undefined,
  latest: boolean | undefined,
): Promise<string> {
  if ((wanted === undefined) === !latest)
    throw usage('specify either a backup or --latest', { see: 'board backups list' })
  if (wanted !== undefined) return wanted
  const newest = (await client.backups.list()).find(({ verified }) => verified)
  if (!newest)
    throw new Failure('notFound', 'there is no verified backup', {
      hint: 'create one: board backups create',
      see: 'board backups list',
    })
  return newest.filename
}
