/** An access token and what it is asked with (spec, "Authentication"; RFC 6749, section 4.4). */

export interface TokenRequest {
  /** As given; which there are is the subject's to say. */
  readonly grantType: string
  readonly clientId: string
  readonly clientSecret: string
}

export interface AccessGrant {
  /** In this answer and nowhere else. */
  readonly token: string
  readonly expiresInSeconds: number
}
