/** Who is asking: the account and role behind an API key. */

/** Roles of the spec ("Authentication", role rules). */
export const roles = ['Agent', 'Supervisor', 'Administrator'] as const
export type Role = (typeof roles)[number]

export interface Caller {
  readonly accountId: string
  readonly role: Role
  /** Identifies the key without revealing it. */
  readonly keyId: string
}

/** Who asks where no key is needed; holds nothing. */
export const nobody: Caller = Object.freeze({ accountId: '', role: 'Agent', keyId: '' })
