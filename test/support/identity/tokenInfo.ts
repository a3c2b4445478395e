import { expect } from 'vitest'

/** What `GET /api/auth/me` tells of a token that may all that its account may; that of a sign-in ends. */
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
