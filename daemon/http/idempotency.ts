import { createHash } from 'node:crypto'
import { Problem } from '../../src/contract/errors.ts'
import type { Route } from '../../src/contract/route.ts'
import type { App } from '../../src/app.ts'
import { actorOf } from '../../src/domain/cards/activity.ts'
import type { Caller } from '../../src/domain/accounts/caller.ts'
import { UniqueViolation } from '../../src/store/engine/database.ts'
import { readAnswer, recordAnswer } from '../../src/store/server/idempotentAnswers.ts'
import { Json, presentNothing, type Call } from './handlers.ts'

/** The `Idempotency-Key` of a create request: its first use, or the stored answer. */
export interface Claim {
  replay?: Json
  write: Call['write']
}

/**
 * Looks a key up (24 hours, same key and body, same answer).
 * @throws Problem IDEMPOTENCY_KEY_REUSED when the key came with another request
 */
export async function claimKey(
  app: Pick<App, 'db'>,
  route: Route,
  caller: Caller,
  key: string,
  input: unknown,
): Promise<Claim> {
  if (key.length < 1 || key.length > 255)
    throw new Problem('VALIDATION_FAILED', 'Idempotency-Key must have 1 to 255 characters.', {
      details: [{ path: 'Idempotency-Key', message: 'must have 1 to 255 characters' }],
    })
  const owner = caller.key
    ? `key:${caller.key.id}`
    : caller.agent
      ? `card:${caller.agent.cardId}`
      : `user:${caller.userId}`
  const requestHash = createHash('sha256')
    .update(`${route.method} ${route.path}\n${JSON.stringify(input)}`)
    .digest('hex')
  const replay = async () => {
    const before = await readAnswer(app.db, owner, key)
    if (before && before.requestHash !== requestHash) throw new Problem('IDEMPOTENCY_KEY_REUSED')
    return before && new Json(before.body)
  }
  const write: Call['write'] = async (work, present = presentNothing) => {
    try {
      return await app.db.transaction(async tx => {
        const output = present(await work(tx))
        try {
          await recordAnswer(tx, {
            caller: owner,
            key,
            requestHash,
            status: route.status,
            body: JSON.stringify(output),
          })
        } catch (error) {
          throw error instanceof UniqueViolation ? new SameKeyAtOnce() : error
        }
        return output
      }, actorOf(caller))
    } catch (error) {
      const before = error instanceof SameKeyAtOnce ? await replay() : undefined
      if (before) return before as never
      throw error
    }
  }
  return { replay: await replay(), write }
}

class SameKeyAtOnce extends Error {}
