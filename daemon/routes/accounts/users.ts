import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import { findUsers } from '../../../src/identity/accounts.ts'
import * as users from '../../../src/identity/users.ts'
import { adminUser, foundUser } from '../../../src/views/users.ts'
import type { Handlers } from '../../http/handlers.ts'

/**
 * Responses with a password bypass `call.write`, which stores the responses of requests with an Idempotency-Key in
 * plain text.
 */
export const usersRoutes = (app: Pick<App, 'config' | 'db' | 'identity'>): Handlers<Contract['users']> => ({
  search: async ({ q }) => (await findUsers(app.db, q)).map(foundUser),
  list: async page => {
    const { users: rows, total } = await users.list(app.db, page)
    return { users: rows.map(adminUser), total }
  },
  create: async (input, { caller, db }) => {
    const { user, generatedPassword } = await users.create({ ...app, db }, caller, input)
    return { user: adminUser(user), generatedPassword }
  },
  update: ({ id, ...change }, { caller, write }) => write(tx => users.update(tx, caller, id, change), adminUser),
  delete: ({ id }, { caller, write }) => write(tx => users.remove(app.identity, tx, caller, id)),
  resetPassword: async ({ id }, { caller, db }) => ({
    generatedPassword: await users.resetPassword({ ...app, db }, caller, id),
  }),
  checkDelete: async ({ id }) => ({ ownedProjectsCount: await users.countOwned(app.db, id) }),
})
