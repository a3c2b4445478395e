import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import { changeWishes, readWishes } from '../../../src/domain/automation/notifications.ts'
import type { Handlers } from '../../http/handlers.ts'

export const notificationsRoutes = ({
  db,
  webhooks,
}: Pick<App, 'db' | 'webhooks'>): Handlers<Contract['notifications']> => ({
  get: async (_, { caller: { userId } }) => ({
    ...(await readWishes(db, userId)),
    webhookUrl: await webhooks.userUrl(db, userId),
  }),
  set: async ({ webhookUrl, ...change }, { caller: { userId }, write }) => {
    if (typeof webhookUrl === 'string') await webhooks.requireTarget(webhookUrl)
    return write(
      async tx => {
        const webhookSecret = webhookUrl === undefined ? undefined : await webhooks.setUserUrl(tx, userId, webhookUrl)
        return {
          ...(await changeWishes(tx, userId, change)),
          webhookUrl: await webhooks.userUrl(tx, userId),
          ...(webhookSecret !== undefined && { webhookSecret }),
        }
      },
      settings => settings,
    )
  },
})
