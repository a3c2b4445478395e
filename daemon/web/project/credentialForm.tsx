import { client } from '../app/session.ts'
import { showMessage } from '../app/messages.ts'
import { Choice, linesOf, TextArea, TextInput } from '../ui/Inputs.tsx'
import type { ResourceForm } from '../ui/ResourceSection.tsx'
import { SlotsInput } from './AgentSlots.tsx'
import type { Credential } from './records.ts'

export type ProviderOfModels = Credential['provider']
export const modelProviders: readonly (readonly [ProviderOfModels, string])[] = [
  ['anthropic', 'Anthropic'],
  ['openai', 'OpenAI'],
  ['google', 'Google'],
  ['openrouter', 'OpenRouter'],
  ['github', 'GitHub'],
  ['gitlab', 'GitLab'],
  ['gitea', 'Gitea or Forgejo'],
  ['custom', 'other, with a base URL'],
]

const initial = (credential: Credential | undefined) => ({
  name: credential?.name ?? '',
  provider: credential?.provider ?? ('anthropic' as ProviderOfModels),
  apiKey: '',
  baseUrl: credential?.baseUrl ?? '',
  headers: '',
  models: credential?.models.join('\n') ?? '',
  agentSlots: credential?.agentSlots ?? null,
})

/** The form of an API key credential. Stored secrets are never returned: an empty field keeps them. */
export const credentialForm: ResourceForm<Credential, ReturnType<typeof initial>> = {
  noun: 'key',
  initial,
  save: async ({ name, provider, apiKey, baseUrl, headers, models, agentSlots }, credential) => {
    const changed = {
      name,
      ...(apiKey !== '' && { apiKey }),
      ...(headers.trim() !== '' && { headers: headersOf(headers) }),
      models: linesOf(models),
    }
    if (credential)
      await client.credentials.update({ id: credential.id, ...changed, baseUrl: baseUrl || null, agentSlots })
    else await client.credentials.create({ ...changed, provider, ...(baseUrl !== '' && { baseUrl }) })
    showMessage(`Saved ${name}. Check the credential before you use it in the project.`)
  },
  fields: ({ values, bind }, credential) => (
    <>
      <TextInput label="Name" required maxLength={200} {...bind('name')} />
      {!credential && <Choice label="Provider" options={modelProviders} {...bind('provider')} />}
      {credential?.kind !== 'oauth' && (
        <TextInput
          label="Key"
          type="password"
          autoComplete="new-password"
          hint={credential && 'Leave empty to keep the key.'}
          {...bind('apiKey')}
        />
      )}
      <TextInput
        label="Base URL"
        type="url"
        required={values.provider === 'custom' || values.provider === 'gitea'}
        hint="Only if it differs from the provider's default URL."
        {...bind('baseUrl')}
      />
      <Headers kept={credential?.headers ?? []} {...bind('headers')} />
      <TextArea
        label="Models"
        spellCheck={false}
        hint="One per line, if they differ from the provider's default models."
        {...bind('models')}
      />
      {credential && <SlotsInput {...bind('agentSlots')} />}
    </>
  ),
}

function Headers({
  kept,
  ...rest
}: {
  kept: readonly string[]
  error?: string
  value: string
  onChange: (value: string) => void
}) {
  const instead = kept.length > 0 ? ` Saved: ${kept.join(', ')}. New headers replace all saved headers.` : ''
  return <TextArea label="Headers" spellCheck={false} hint={`One per line, Name: value.${instead}`} {...rest} />
}

/** @throws Error for a line without a colon */
function headersOf(text: string): Record<string, string> {
  return Object.fromEntries(
    linesOf(text).map(line => {
      const at = line.indexOf(':')
      if (at < 1) throw new Error(`"${line}" is not a header. Write Name: value.`)
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()]
    }),
  )
}
