import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import * as credentials from '../../../src/domain/accounts/credentials.ts'
import { create, headersOf, update } from '../../../src/identity/credentials.ts'
import { verifySecret } from '../../../src/identity/providers.ts'
import { credentialChoice, credential, maskedCredential } from '../../../src/views/credentials.ts'
import type { Handlers } from '../../http/handlers.ts'

export const credentialsRoutes = ({
  db,
  seal,
  deviceGrants,
  outboundDispatcher,
  supervisor,
  pullRequestLoop,
  issues,
}: Pick<
  App,
  'db' | 'seal' | 'deviceGrants' | 'outboundDispatcher' | 'supervisor' | 'pullRequestLoop' | 'issues'
>): Handlers<Contract['credentials']> => ({
  list: async (_, { caller }) => (await credentials.list(db, caller)).map(credential),
  create: (input, { caller, write }) => write(tx => create(seal, tx, caller, input), credential),
  get: async ({ id }, { caller }) => maskedCredential(await credentials.find(db, caller, id)),
  update: ({ id, ...change }, { caller, write }) =>
    write(async tx => {
      const updated = await update(seal, tx, caller, id, change)
      if (change.agentSlots !== undefined) supervisor.reconcile(tx)
      if (change.apiKey !== undefined)
        tx.afterCommit(() => {
          pullRequestLoop.wake()
          issues.wake()
        })
      return updated
    }, credential),
  delete: ({ id }, { caller, write }) => write(tx => credentials.remove(tx, caller, id)),
  verify: async ({ id }, { caller }) => {
    const found = await credentials.find(db, caller, id)
    return verifySecret(
      found,
      await deviceGrants.secretOf(found),
      headersOf(seal, found),
      await outboundDispatcher(caller.userId),
    )
  },
  usage: ({ id }, { caller }) => credentials.usage(db, caller, id),
  initOauth: async (input, { caller }) => {
    const { id, ...started } = await deviceGrants.start(caller, input)
    return { credentialId: String(id), ...started }
  },
  oauthStatus: async ({ id }, { caller }) => ({ status: await deviceGrants.status(caller, id) }),
  choose: ({ projectId, credentialId }, { caller, write }) =>
    write(
      tx => credentials.choose(tx, supervisor, caller, projectId, credentialId),
      () => credentialChoice(projectId, credentialId),
    ),
  chooseForCard: ({ projectId, cardId, credentialId }, { caller, write }) =>
    write(
      tx => credentials.chooseForCard(tx, supervisor, caller, { projectId, cardId }, credentialId),
      () => credentialChoice(cardId, credentialId),
    ),
})
