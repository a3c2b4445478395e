import { dropSnapshots } from '../git/snapshotRefs.ts'
import type { Database } from '../store/engine/database.ts'
import { forgetSnapshot, listDeletedSnapshots } from '../store/forges/reviews.ts'

/**
 * Deletes the review snapshots in repositories of cards that were deleted before the time. Continues after a failure.
 * @throws AggregateError with the failures
 */
export async function dropDeletedSnapshots(db: Database, before: string): Promise<void> {
  const failures: unknown[] = []
  for (const kept of await listDeletedSnapshots(db, before)) {
    await dropSnapshots(kept.path, kept.cardId, [kept.snapshot])
      .then(() => db.transaction(async tx => forgetSnapshot(tx, kept)))
      .catch(error => failures.push(error))
  }
  if (failures.length > 0)
    throw new AggregateError(failures, `${failures.length} reviewed states of deleted cards could not be released.`)
}
