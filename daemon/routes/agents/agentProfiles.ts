import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import { isAdmin } from '../../../src/domain/accounts/caller.ts'
import * as profiles from '../../../src/identity/agentProfiles.ts'
import { agentProfile } from '../../../src/views/agentProfiles.ts'
import type { Handlers } from '../../http/handlers.ts'

export const agentProfilesRoutes = ({
  db,
  seal,
  catalogue,
}: Pick<App, 'db' | 'seal' | 'catalogue'>): Handlers<Contract['agentProfiles']> => ({
  list: async (_, { caller }) => (await profiles.list(db)).map(row => agentProfile(row, isAdmin(caller))),
  create: async (profile, { caller, write }) => {
    await catalogue.requireAgent(profile.agent)
    return write(
      tx => profiles.create(seal, tx, caller, profile),
      row => agentProfile(row, true),
    )
  },
  update: ({ id, ...change }, { caller, write }) =>
    write(
      tx => profiles.update(seal, tx, caller, id, change),
      row => agentProfile(row, true),
    ),
  delete: ({ id }, { write }) => write(tx => profiles.remove(tx, id)),
})
