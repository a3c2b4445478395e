const minSecretLength = 6

/** Replaces secrets by asterisks, also in the forms that they have within JSON and URLs. */
export function redactSecrets(text: string, secrets: readonly string[]): string {
  const forms = secrets
    .filter(secret => secret.length >= minSecretLength)
    .flatMap(secret => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)])
  return [...new Set(forms)]
    .sort((a, b) => b.length - a.length)
    .reduce((redacted, form) => redacted.replaceAll(form, '***'), text)
}
