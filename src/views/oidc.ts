import type { InferOutput } from 'valibot'
import type { OidcSettings } from '../contract/oidc.ts'

/** `redirectUri` is what an administrator registers at the provider. */
export const oidcSettings = (
  settings: { issuerUrl: string; clientId: string } | undefined,
  redirectUri: string,
): InferOutput<typeof OidcSettings> => ({
  configured: settings !== undefined,
  issuerUrl: settings?.issuerUrl ?? null,
  clientId: settings?.clientId ?? null,
  redirectUri,
})
