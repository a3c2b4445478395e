import type { Reader, Transaction } from '../engine/database.ts'
import { translateError } from '../engine/database.ts'

export interface IdempotentAnswer {
  caller: string
  key: string
  requestHash: string
  status: number
  body: string
}

export const readAnswer = (db: Reader, caller: string, key: string): Promise<IdempotentAnswer | undefined> =>
  db.get(
    'SELECT caller, key, request_hash AS requestHash, status, body FROM idempotent_answers WHERE caller = ? AND key = ?',
    [caller, key],
  )

/** @throws UniqueViolation when the caller used the key already */
export async function recordAnswer(tx: Transaction, answer: IdempotentAnswer): Promise<void> {
  try {
    await tx.run('INSERT INTO idempotent_answers VALUES (?, ?, ?, ?, ?, ?)', [
      answer.caller,
      answer.key,
      answer.requestHash,
      answer.status,
      answer.body,
      tx.now,
    ])
  } catch (error) {
    throw translateError(error)
  }
}

/** Deletes answers that were given before a time. */
export const forgetAnswers = async (tx: Transaction, before: string): Promise<void> => {
  await tx.run('DELETE FROM idempotent_answers WHERE created_at < ?', [before])
}
