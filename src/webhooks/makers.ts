import { projectRole } from '../domain/accounts/access.ts'
import { missingEventAccess } from '../domain/accounts/eventAudience.ts'
import { disable } from '../domain/automation/webhooks.ts'
import { presentMaker } from '../identity/makers.ts'
import type { Reader, Transaction } from '../store/engine/database.ts'
import type { Maker } from '../store/accounts/makers.ts'
import { readWebhook } from '../store/automation/webhooks.ts'

const whatNext = 'Enable the webhook again to take it over.'

/**
 * The reason why a project's webhook, which has the current permissions of its owner, can no longer send these types. Undefined if it still
 * can, and if it belongs to the project or sends an account its notifications.
 * @param now ISO 8601
 */
export async function whyNotSent(
  db: Reader,
  { projectId, ...maker }: Maker & { projectId: number | null },
  types: readonly string[],
  now: string,
): Promise<string | undefined> {
  if (projectId === null || maker.makerUserId === null) return undefined
  const { caller, name, gone } = await presentMaker(db, { ...maker, makerUserId: maker.makerUserId }, projectId, now)
  if (!caller) return `${gone} ${whatNext}`
  if (!(await projectRole(db, caller, projectId))) return `${name} can no longer read this project. ${whatNext}`
  const why = missingEventAccess(caller, types)
  return why === undefined ? undefined : `${name} ${why}. ${whatNext}`
}

/** Disables a webhook that can no longer send these types; by default, all of its types. */
export async function disableForMaker(tx: Transaction, webhookId: number, types?: readonly string[]): Promise<void> {
  const webhook = await readWebhook(tx, webhookId)
  if (!webhook) return
  const why = await whyNotSent(tx, webhook, types ?? (JSON.parse(webhook.events) as string[]), tx.now)
  if (why !== undefined) await disable(tx, webhookId, why)
}
