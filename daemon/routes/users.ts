import type { App } from '../../src/app.ts'
import type { Contract } from '../../src/contract/index.ts'
import { findUsers } from '../../src/identity/accounts.ts'
import { foundUser } from '../../src/views/users.ts'
import type { Handlers } from '../handlers.ts'

export const usersRoutes = (app: App): Handlers<Contract['users']> => ({
  search: async ({ q }) => (await findUsers(app.db, q)).map(foundUser),
})
