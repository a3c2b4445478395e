import { expect, test } from 'vitest'
import type { CredentialProvider } from '../../src/contract/accounts/credentials.ts'
import type { AgentUnderTest } from './agentUnderTest.ts'

/** Tests that the agent sends the selected credential, base URL and model to its model service. */
export function proveChoices({ real: started, cell, traits }: AgentUnderTest): void {
  const { credentials = {}, model } = traits

  test.each(Object.entries(credentials) as Array<[CredentialProvider, string]>)(
    'sends a credential of the kind %s to its base URL, and requests the selected model',
    async (provider, path) => {
      const real = started()
      const { client } = real.board
      const apiKey = `sk-of-a-credential-of-${provider}-0123456789`
      const { id: credentialId } = await client.credentials.create({
        name: provider,
        provider,
        apiKey,
        baseUrl: `${real.model.url}/gateway`,
        models: ['scripted', 'second'],
      })
      const { id: cardId } = await real.create(`With ${provider}`)
      const ref = { projectId: real.projectId, cardId }
      await client.credentials.chooseForCard({ ...ref, credentialId })
      await client.cards.update({ ...ref, model: 'second' })
      const before = real.model.asked.length
      real.model.play({ text: 'I was here.' })
      await real.start(cardId)
      const { card } = await real.approveAll(cardId)
      expect(card.status, card.lastAgentAction?.detail ?? undefined).toBe('completed')
      const asked = real.model.asked.slice(before).filter(({ protocol }) => protocol)
      expect(new Set(asked.map(({ key, path }) => `${key} ${path}`))).toEqual(new Set([`${apiKey} ${path}`]))
      // Codex uses another model to write the title.
      const main = asked.filter(({ offersTools }) => offersTools)
      expect(new Set(main.map(({ model }) => model))).toEqual(new Set(['second']))
      cell('credential', 'yes')
      cell('base URL', 'yes')
      await real.untilNoneRuns()
    },
  )

  test('uses its own selected model, and rejects models that it does not offer', async () => {
    const real = started()
    const { client } = real.board
    const { id: cardId } = await real.create('With a model')
    const ref = { projectId: real.projectId, cardId }
    const before = real.model.asked.length
    real.model.play({ text: 'I was here.' })
    const unknown = client.cards.update({ ...ref, model: 'no-such-model' })
    if (!model) {
      await unknown
      await real.start(cardId)
      expect((await real.approveAll(cardId)).card).toMatchObject({
        status: 'failed',
        statusReason: 'launch_failed',
        lastAgentAction: { detail: 'The agent does not offer a choice of model, so no-such-model cannot be set.' },
      })
      expect(real.model.asked).toHaveLength(before)
      return cell('model', 'of a credential')
    }
    await expect(unknown).rejects.toMatchObject({
      details: [{ path: 'model', message: expect.stringContaining(model.id) }],
    })
    await client.cards.update({ ...ref, model: model.id })
    await real.start(cardId)
    const { card } = await real.approveAll(cardId)
    expect(card.status, card.lastAgentAction?.detail ?? undefined).toBe('completed')
    const asked = real.model.asked.slice(before).filter(({ offersTools }) => offersTools)
    expect(new Set(asked.map(({ model }) => model))).toEqual(new Set([model.asked]))
    cell('model', 'yes')
    await real.untilNoneRuns()
  })
}
