import type { App } from '../../src/app.ts'
import type { Contract } from '../../src/contract/index.ts'
import { find, list } from '../../src/domain/webhooks.ts'
import { listDeliveries } from '../../src/store/deliveries.ts'
import { delivery, deliveryPage, webhook, webhookWithSecret } from '../../src/views/webhooks.ts'
import type { Handlers } from '../handlers.ts'

/** Answers that hold a secret go past `call.write`: an Idempotency-Key would store them in clear. */
export const webhooksRoutes = ({ db, webhooks }: App): Handlers<Contract['webhooks']> => ({
  list: async ({ projectId }) => (await list(db, projectId)).map(webhook),
  create: async ({ projectId, ...input }, { db }) => {
    await webhooks.requireTarget(input.url)
    return webhookWithSecret(await db.transaction(tx => webhooks.create(tx, projectId, input)))
  },
  update: async ({ projectId, webhookId, ...change }, { write }) => {
    if (change.url !== undefined) await webhooks.requireTarget(change.url)
    return write(tx => webhooks.update(tx, { projectId, webhookId }, change), webhook)
  },
  delete: ref => webhooks.remove(ref),
  rotate: async (ref, { db }) => webhookWithSecret(await db.transaction(tx => webhooks.rotate(tx, ref))),
  test: (ref, { write }) => write(tx => webhooks.test(tx, ref), delivery),
  deliveries: async ({ status, limit, cursor, ...ref }) =>
    deliveryPage(await listDeliveries(db, (await find(db, ref)).id, { status, before: cursor, limit }), limit),
  redeliver: ({ deliveryId, ...ref }, { write }) => write(tx => webhooks.redeliver(tx, ref, deliveryId), delivery),
})
