import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import * as comments from '../../../src/domain/cards/comments.ts'
import { comment } from '../../../src/views/comments.ts'
import { page } from '../../../src/views/page.ts'
import type { Handlers } from '../../http/handlers.ts'

export const commentsRoutes = (app: Pick<App, 'db'>): Handlers<Contract['comments']> => ({
  list: async ({ limit, cursor, ...ref }) => page(await comments.list(app.db, ref, { limit, cursor }), comment),
  create: ({ body, ...ref }, call) =>
    call.write(tx => comments.add(tx, { ...ref, caller: call.caller }, body), comment),
  update: ({ body, commentId, ...ref }, call) =>
    call.write(tx => comments.edit(tx, { ...ref, caller: call.caller }, commentId, body), comment),
  delete: ({ commentId, ...ref }, call) =>
    call.write(tx => comments.remove(tx, { ...ref, caller: call.caller }, commentId)),
})
