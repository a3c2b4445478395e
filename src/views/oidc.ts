import type { InferOutput } from 'valibot'
import type { EmailVerification, OidcSettings } from '../contract/accounts/oidc.ts'

interface Settings {
  issuerUrl: string
  clientId: string
  allowedDomains: readonly string[]
  allowedGroups: readonly string[]
  groupsClaim: string
  emailVerification: EmailVerification
}

/** `redirectUri` is what an administrator registers at the provider. */
export const oidcSettings = (
  settings: Settings | undefined,
  redirectUri: string,
): InferOutput<typeof OidcSettings> => ({
  configured: settings !== undefined,
  issuerUrl: settings?.issuerUrl ?? null,
  clientId: settings?.clientId ?? null,
  redirectUri,
  allowedDomains: [...(settings?.allowedDomains ?? [])],
  allowedGroups: [...(settings?.allowedGroups ?? [])],
  groupsClaim: settings?.groupsClaim ?? 'groups',
  emailVerification: settings?.emailVerification ?? 'required',
})
