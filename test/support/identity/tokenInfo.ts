import { expect } from 'vitest'

/** The `GET /api/auth/me` response of a token with all permissions of its account; that of a sign-in expires. */
export const unlimited = (kind: 'sign-in' | 'local' | 'none') => ({
  kind,
  name: null,
  scope: 'server',
  organizationId: null,
  projectId: null,
  cardId: null,
  permissions: null,
  expiresAt: kind === 'sign-in' ? (expect.stringMatching(/^\d{4}-.*Z$/) as unknown) : null,
})
