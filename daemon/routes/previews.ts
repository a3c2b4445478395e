import type { App } from '../../src/app.ts'
import type { Contract } from '../../src/contract/index.ts'
import { find } from '../../src/domain/cards.ts'
import type { Handlers } from '../http/handlers.ts'

export const previewsRoutes = ({ db, previews }: App): Handlers<Contract['previews']> => ({
  get: async ref => previews.read((await find(db, ref)).id),
  start: async (ref, { audit }) => {
    const { preview, isNew } = await previews.start(ref)
    if (!isNew) audit?.leaveOut()
    return preview
  },
  stop: async ref => previews.end((await find(db, ref)).id),
})
