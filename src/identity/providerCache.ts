import type { Clock } from '../async/clock.ts'
import { discoverProvider, type Provider } from './oidcProvider.ts'
import { fingerprintOf, openClientSecret, type OidcSettings } from './oidcSettings.ts'
import type { Seal } from './seal.ts'

const lifeMs = 3_600_000

/**
 * The configured provider's metadata, cached for an hour. Concurrent requests share one fetch; failures are not
 * cached.
 */
export interface ProviderCache {
  /** @throws Problem OIDC_REFUSED, PROVIDER_UNAVAILABLE, SEALED_WITH_OTHER_KEY */
  of(settings: OidcSettings): Promise<Provider>
  forget(): void
}

export function createProviderCache(seal: Seal, clock: Clock): ProviderCache {
  let known: { settings: string; provider: Promise<Provider>; endsAt: number } | undefined
  return {
    of: settings => {
      const nowMs = clock().getTime()
      if (known && known.settings === fingerprintOf(settings) && known.endsAt > nowMs) return known.provider
      const provider = discoverProvider(settings, openClientSecret(seal, settings))
      const mine = (known = { settings: fingerprintOf(settings), provider, endsAt: nowMs + lifeMs })
      provider.catch(() => {
        if (known === mine) known = undefined
      })
      return provider
    },
    forget: () => {
      known = undefined
    },
  }
}
