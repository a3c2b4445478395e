import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import { find, list } from '../../../src/domain/automation/webhooks.ts'
import { audienceOf, type Audience } from '../../../src/domain/accounts/eventAudience.ts'
import type { EventType } from '../../../src/contract/server/events.ts'
import { listDeliveries, type DeliveryRow } from '../../../src/store/automation/deliveries.ts'
import { delivery, webhook, webhookWithSecret } from '../../../src/views/webhooks.ts'
import type { Handlers } from '../../http/handlers.ts'

/** Responses with a secret bypass `call.write`, which stores the responses of requests with an Idempotency-Key in plain text. */
export const webhooksRoutes = ({ db, webhooks }: Pick<App, 'db' | 'webhooks'>): Handlers<Contract['webhooks']> => ({
  list: async ({ projectId }) => (await list(db, projectId)).map(webhook),
  create: async ({ projectId, ...input }, { caller, db }) => {
    await webhooks.requireTarget(input.url)
    return webhookWithSecret(await db.transaction(tx => webhooks.create(tx, caller, projectId, input)))
  },
  update: async ({ projectId, webhookId, ...change }, { caller, write }) => {
    if (change.url !== undefined) await webhooks.requireTarget(change.url)
    return write(tx => webhooks.update(tx, caller, { projectId, webhookId }, change), webhook)
  },
  delete: ref => webhooks.remove(ref),
  rotate: async (ref, { db }) => webhookWithSecret(await db.transaction(tx => webhooks.rotate(tx, ref))),
  test: (ref, { write }) => write(tx => webhooks.test(tx, ref), delivery),
  deliveries: async ({ status, limit, cursor, ...ref }, { caller }) =>
    deliveryPage(
      await listDeliveries(db, (await find(db, ref)).id, { status, before: cursor, limit }),
      limit,
      audienceOf(caller.key?.permissions),
    ),
  redeliver: ({ deliveryId, ...ref }, { caller, write }) =>
    write(
      tx => webhooks.redeliver(tx, ref, deliveryId),
      row => deliveryFor(row, audienceOf(caller.key?.permissions)),
    ),
})

/** Returns a delivery, without the body for callers who cannot read its event. */
const deliveryFor = (row: DeliveryRow, audience: Audience) =>
  delivery(row.type === 'webhook.test' || audience.seesWhole(row.type as EventType) ? row : { ...row, body: '' })

/** Returns a page of deliveries, with the cursor of the next page if there can be one. */
const deliveryPage = (rows: readonly DeliveryRow[], limit: number, audience: Audience) => ({
  items: rows.map(row => deliveryFor(row, audience)),
  nextCursor: rows.length === limit ? String(rows.at(-1)!.id) : null,
})
