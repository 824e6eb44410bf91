"""What our servers share: the few things of ASGI, who may call, listening and ending."""
